"""ASGI door: uvicorn serves the pages, the API and the live streams from here."""

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
application = get_asgi_application()

# A page makes and drops some 100,000 small objects, none of them in cycles to speak of: looking for cycles every 700 of
# them, among all that was loaded at the start, took a tenth of each answer. What is loaded stays for good.
gc.freeze()
gc.set_threshold(50_000, 20, 50)
