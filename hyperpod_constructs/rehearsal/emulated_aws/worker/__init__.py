"""The folder on the Lambda workers' PYTHONPATH: Python imports ``sitecustomize`` from it at start."""
