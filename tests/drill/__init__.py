"""The drill: the whole job on a real fleet file, over HTTP, with processes killed on the way."""
