"""Editing by clusters (clusters.py), for prompt_toolkit."""

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from modules.app.clusters import cluster_after, cluster_before, shown_line


def cluster_keys(buffer: Buffer) -> KeyBindings:
    """Returns the keys that move the cursor and delete, over whole clusters."""
    keys = KeyBindings()

    @keys.add("backspace")
    def _(event: KeyPressEvent) -> None:
        buffer.delete_before_cursor(cluster_before(buffer.text, buffer.cursor_position))

    @keys.add("delete")
    @keys.add("c-d", filter=Condition(lambda: bool(buffer.text)))
    def _(event: KeyPressEvent) -> None:
        buffer.delete(cluster_after(buffer.text, buffer.cursor_position))

    @keys.add("left")
    @keys.add("c-b")
    def _(event: KeyPressEvent) -> None:
        buffer.cursor_position -= cluster_before(buffer.text, buffer.cursor_position)

    @keys.add("right")
    @keys.add("c-f")
    def _(event: KeyPressEvent) -> None:
        buffer.cursor_position += cluster_after(buffer.text, buffer.cursor_position)

    return keys


class ShownClusters(Processor):
    """Shows each line of the text with its clusters."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Returns the line as it is shown."""
        fragments = transformation_input.fragments
        line = shown_line(fragment_list_to_text(fragments))
        if len(line.columns) == len(line.text) + 1:
            return Transformation(fragments)
        return Transformation([("", line.text)], line.to_shown, line.to_line)
