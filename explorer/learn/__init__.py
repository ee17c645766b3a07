"""Learn: a guided tour of short chapters, their texts, figures and sources.

A chapter is one file here (its numbers and its widget's data), one text in `assets/learn/KEY.md`
and one widget in `assets/learn/KEY.js`. `document` makes the page of them, which is the same on a
server and on a disk.
"""
