// Global keys: `/` goes to the filter of a list, and Ctrl+S (or Cmd+S) saves. Ctrl+K belongs to the quick search.

/** Registers the global keys. */
export function watchKeys(): void {
  document.addEventListener('keydown', (event) => {
    // The JSON editor is in a shadow root, so the target alone does not show what is focused.
    const [inner] = event.composedPath();
    const isTyping =
      inner instanceof Element && inner.closest('input, textarea, select, dialog, [contenteditable]') !== null;
    if (event.key === '/' && !isTyping && openFilter()) event.preventDefault();
    if (event.key === 's' && (event.ctrlKey || event.metaKey) && document.querySelector('dialog[open]') === null) {
      const target = document.querySelector('[data-key="save"]');
      if (target instanceof HTMLButtonElement) {
        event.preventDefault();
        target.click();
      }
    }
  });
}

/** Opens the filter and goes to its first field. Returns whether the page has one. */
function openFilter(): boolean {
  const summary = document.querySelector('[data-key="filter"]');
  const box = summary?.parentElement;
  if (!(box instanceof HTMLDetailsElement)) return false;
  box.open = true;
  box.querySelector('input')?.focus();
  return true;
}
