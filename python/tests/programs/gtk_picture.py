"""Shows a window of GTK widgets, draws it, and prints a hash of its pixels.

The window is drawn off the screen: what other windows, the focus or the pointer do does not show.
"""

import hashlib
import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf, GLib, Gtk  # noqa: E402

ROWS = 6


def content() -> Gtk.Widget:
    """Return a long table beside a text."""
    table = Gtk.ListStore(int, str)
    for number in range(ROWS):
        table.append([number, f"row {number * 7919 % 1000}"])
    table.set_sort_column_id(1, Gtk.SortType.DESCENDING)
    view = Gtk.TreeView(model=table)
    for column, title in enumerate(("number", "name")):
        cell = Gtk.CellRendererText()
        view.append_column(Gtk.TreeViewColumn(title, cell, text=column))
    text = Gtk.TextView(cursor_visible=False)
    text.get_buffer().set_text("\n".join(f"line {line}" for line in range(5)))
    box = Gtk.Box(spacing=8)
    box.pack_start(view, True, True, 0)
    box.pack_start(text, True, True, 0)
    return box


def draw(window: Gtk.OffscreenWindow) -> None:
    """Print hashes of the window's pixels, and of those enlarged."""
    picture = window.get_pixbuf()
    width, height = picture.get_width(), picture.get_height()
    large = picture.scale_simple(width // 2, height, GdkPixbuf.InterpType.BILINEAR)
    for drawn in (picture, large):
        digest = hashlib.sha256(drawn.get_pixels()).hexdigest()
        print(drawn.get_width(), drawn.get_height(), digest)
    Gtk.main_quit()


if not Gtk.init_check()[0]:
    sys.exit("there is no display")
Gtk.Settings.get_default().set_property("gtk-enable-animations", False)
shown = Gtk.OffscreenWindow()
shown.add(content())
shown.set_default_size(200, 200)
shown.show_all()
# When nothing is left to lay out or to draw, however long that took.
GLib.idle_add(draw, shown, priority=GLib.PRIORITY_LOW)
Gtk.main()
