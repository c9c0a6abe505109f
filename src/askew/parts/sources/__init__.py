"""Input images of social groups, either generated or supplied ("downstream" paper, section 3).

`groups` lists the groups and obtains their images, `group_check` replaces images that do not show
their group, and `neutrality` measures how many images show a target before they are edited.
"""
