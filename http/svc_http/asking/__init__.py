"""What an agent may ask svc about its own person, over the Model Context Protocol."""
