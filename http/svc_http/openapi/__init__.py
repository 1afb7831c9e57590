"""The API's description of itself: the routes' tables as an OpenAPI document and as a page for people."""
