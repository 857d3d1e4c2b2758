"""What lives on a page: sliders over figures, and the playground, without a kernel."""
