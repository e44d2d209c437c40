# placeholder until the install rules are written
