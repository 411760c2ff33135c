"""How is a board made, checked, added to and published?"""
