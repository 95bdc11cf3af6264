"""Small programs that are sent to a host or a container. Standard library only."""
