a secret text of mine
