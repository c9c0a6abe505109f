from askew.pages.blocks import Page
def page(found, media):
    return Page("", "", "", (), ())
