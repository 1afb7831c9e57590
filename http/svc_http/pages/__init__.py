"""What a person sees in a browser: server-rendered pages over the same queries and commands as the API."""
