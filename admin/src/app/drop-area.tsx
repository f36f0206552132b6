// The view of an object as a place to drop files on. Where no tab takes files, the browser would leave the console to show
// the file, so drops there do nothing.
import type { ComponentChildren, JSX, TargetedDragEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { go } from '../core/router.ts';
import { droppedFiles } from '../ui/dropped-files.ts';

/** Returns whether files are dragged, and not text. */
function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes('Files') === true;
}

/** Keeps the browser from leaving the page for a file that misses its target. Returns a function that ends this. */
export function watchMissedDrops(): () => void {
  const ignore = (event: DragEvent): void => {
    const isField = event.target instanceof Element && event.target.closest('input[type=file]') !== null;
    if (hasFiles(event) && !isField) event.preventDefault();
  };
  window.addEventListener('dragover', ignore);
  window.addEventListener('drop', ignore);
  return () => {
    window.removeEventListener('dragover', ignore);
    window.removeEventListener('drop', ignore);
  };
}

export interface DropAreaProps {
  /** Whether a tab of the object takes files. */
  readonly isOpen: boolean;
  /** Address of that tab. */
  readonly hash: string;
  readonly children: ComponentChildren;
}

export function DropArea({ isOpen, hash, children }: DropAreaProps): JSX.Element {
  const [isOver, setOver] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => () => droppedFiles.set([]), []);
  if (!isOpen) return <div>{children}</div>;
  const take = (event: TargetedDragEvent<HTMLDivElement>): void => {
    if (!hasFiles(event)) return;
    // Also before the JSON editor, which would insert the content of the file.
    event.preventDefault();
    event.stopPropagation();
    setOver(event.type !== 'drop');
    if (event.type !== 'drop') return;
    const files = [...(event.dataTransfer?.files ?? [])];
    void go(hash).then(() => {
      if (location.hash.startsWith(hash)) droppedFiles.set(files);
    });
  };
  return (
    <div
      ref={element}
      class={isOver ? 'drop-area over' : 'drop-area'}
      onDragOverCapture={take}
      onDropCapture={take}
      onDragLeave={(event) => {
        // Leaving for an element inside is no leave.
        const to = event.relatedTarget;
        if (!(to instanceof Node) || element.current?.contains(to) !== true) setOver(false);
      }}
    >
      {children}
    </div>
  );
}
