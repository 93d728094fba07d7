"""What an ask would mean, while it is typed and while it is signed."""

from portal.outlook.build import AlternativeOutlook, Outlook, outlook_as_typed, outlook_of_pitch

__all__ = ["AlternativeOutlook", "Outlook", "outlook_as_typed", "outlook_of_pitch"]
