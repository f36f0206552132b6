// Global keys: `/` focuses the filter of a list, and Ctrl+S (or Cmd+S) saves edits.

/** Registers the global keys. */
export function watchKeys() {
  document.addEventListener('keydown', (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest('input, textarea, select, dialog') !== null;
    if (event.key === '/' && !isTyping) {
      const target = document.querySelector('[data-key="filter"]');
      if (target instanceof HTMLElement) {
        event.preventDefault();
        target.focus();
      }
    }
    if (event.key === 's' && (event.ctrlKey || event.metaKey) && document.querySelector('dialog[open]') === null) {
      const target = document.querySelector('[data-key="save"]');
      if (target instanceof HTMLButtonElement) {
        event.preventDefault();
        target.click();
      }
    }
  });
}
