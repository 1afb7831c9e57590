"""Model requests as Parquet files, made from the tables; deleted files are written again."""
