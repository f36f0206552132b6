// A field for JSON text: the CodeMirror editor, in a shadow root, once it is loaded.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JsonEditorView } from './code-mirror.ts';
import { FailureNote } from './parts.tsx';

export interface JsonEditorProps {
  readonly label: string;
  readonly text: string;
  readonly hint?: string;
  readonly isReadOnly?: boolean;
  readonly onChange?: (text: string) => void;
}

export function JsonEditor({ label, text, hint, isReadOnly = false, onChange }: JsonEditorProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<JsonEditorView | undefined>(undefined);
  const changed = useRef(onChange);
  changed.current = onChange;
  const latest = useRef(text);
  latest.current = text;
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    let isLeft = false;
    const open = async (): Promise<void> => {
      const { createEditor } = await import('./code-mirror.ts');
      if (isLeft || host.current === null) return;
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
      editor.current = createEditor({
        root,
        text: latest.current,
        label,
        isReadOnly,
        onChange: (next) => {
          latest.current = next;
          changed.current?.(next);
        },
      });
      host.current.dataset['ready'] = '';
    };
    open().catch(setError);
    return () => {
      isLeft = true;
      editor.current?.destroy();
      editor.current = undefined;
    };
  }, [label, isReadOnly]);
  // With the rendering, not after the next frame: by then another key may have been typed, which an older text would undo.
  useLayoutEffect(() => {
    // A text from elsewhere: a draft, another version, the form.
    if (editor.current !== undefined && editor.current.text() !== text) editor.current.setText(text);
  }, [text]);
  return (
    <div class="field json-field">
      <span class="label" aria-hidden="true">
        {label}
      </span>
      <div class="json-editor" ref={host} />
      {hint === undefined ? null : <small>{hint}</small>}
      <FailureNote error={error} />
    </div>
  );
}
