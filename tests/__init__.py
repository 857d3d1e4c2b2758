"""Before the package of this name that another distribution installs."""
