def tests(): return []
