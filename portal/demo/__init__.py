"""The demo lab: made-up people, projects, pitches and a simulated fleet, so that every page has something to show."""
