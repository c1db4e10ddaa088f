"""Downloads of the public data sets from their official addresses."""
