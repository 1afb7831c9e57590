"""The archive: every model request as numbers in Parquet files, by organization and day, for any tool to read.

It is a conclusion like the views, made from them: it may be deleted, and is then written again. What belongs here: the
lane that writes it, the manifest that says which files count, and the reads that use it.
"""
