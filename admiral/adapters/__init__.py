"""AdMIRaL as a retriever of other systems; each module needs the extra of its name."""
