"""What can be rented, where it can serve an intent, what that costs, and why not elsewhere; it runs nothing."""
