"""What routers do, in numbers."""
