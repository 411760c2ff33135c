"""Is a record what its spec gives?"""
