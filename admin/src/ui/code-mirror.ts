// The JSON editor itself: CodeMirror with highlighting, folding, search and errors by line. It is loaded on first use. Its
// styles are adopted by the shadow root that it lives in, because the policy of the page forbids style elements.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import { lintGutter, linter, lintKeymap } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export interface EditorOptions {
  readonly root: ShadowRoot;
  readonly text: string;
  readonly label: string;
  readonly isReadOnly: boolean;
  readonly onChange: (text: string) => void;
}

export interface JsonEditorView {
  readonly text: () => string;
  readonly setText: (text: string) => void;
  readonly focus: () => void;
  readonly destroy: () => void;
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--json-key)' },
  { tag: tags.string, color: 'var(--json-string)' },
  { tag: tags.number, color: 'var(--json-number)' },
  { tag: [tags.bool, tags.null], color: 'var(--json-word)' },
  { tag: tags.invalid, color: 'var(--danger)' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px', maxHeight: '65vh' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)', minHeight: '9em', padding: '6px 0' },
  '.cm-gutters': { backgroundColor: 'var(--ground)', color: 'var(--quiet)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selected)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--selected)' },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
  },
  '.cm-panels input, .cm-panels button': {
    color: 'inherit',
    background: 'var(--ground)',
    border: '1px solid var(--line)',
  },
  // The marks of errors are drawn without images, which the policy of the page forbids.
  '.cm-lintRange': { backgroundImage: 'none !important', textDecoration: 'underline wavy var(--danger)' },
  '.cm-lint-marker': {
    content: 'normal !important',
    width: '8px',
    height: '8px',
    margin: '0.4em 3px',
    borderRadius: '50%',
    backgroundColor: 'var(--danger)',
  },
  '.cm-foldPlaceholder': { background: 'var(--ground)', color: 'var(--quiet)', border: '1px solid var(--line)' },
});

/** Creates the editor in a shadow root. */
export function createEditor({ root, text, label, isReadOnly, onChange }: EditorOptions): JsonEditorView {
  const extensions: Extension[] = [
    lineNumbers(),
    foldGutter(),
    history(),
    bracketMatching(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    EditorView.lineWrapping,
    indentUnit.of('  '),
    json(),
    syntaxHighlighting(colours),
    theme,
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
    keymap.of([...defaultKeymap, ...historyKeymap, ...foldKeymap, ...searchKeymap, ...lintKeymap]),
    ...(isReadOnly ? [EditorState.readOnly.of(true)] : [lintGutter(), linter(jsonParseLinter())]),
  ];
  const view = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: root, root });
  return {
    text: () => view.state.doc.toString(),
    setText: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
