// Keys that work everywhere: `/` goes to the filter of a list, Ctrl+S (or Cmd+S) saves what is edited.

/** Listens for them. */
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
