"""What has been played, and is it intact?"""
