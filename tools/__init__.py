"""The Pulumi tool chain of this project: the official one, or one built from Go modules."""
