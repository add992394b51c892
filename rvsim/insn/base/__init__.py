"""RV64GC and its scalar extensions."""
