"""Pictures of social groups to begin with: whom they show, who makes them, and whether they are neutral."""
