"""What can be rented, where it can serve an intent, what that costs, and why not elsewhere. Pure: nothing here runs a cloud."""
