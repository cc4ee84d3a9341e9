"""This file's folder is where tests of every room find `example_results`."""
