"""Tests of all parts. A package of another distribution is called tests, too: this one comes first."""
