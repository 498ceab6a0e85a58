"""Programs for the nodes of a bed that stand in for what the HyperPod image has and Debian has not.

They are copied onto the nodes and run there by the node's own Python; nothing here is imported by the product.
"""
