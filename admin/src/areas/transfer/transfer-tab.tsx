// Import and export of the records of a collection.
import type { JSX } from 'preact';
import type { TabProps } from '../area.ts';
import { ExportPanel } from './export-panel.tsx';
import { ImportPanel } from './import-panel.tsx';

export function TransferTab(props: TabProps): JSX.Element {
  return (
    <div class="transfer">
      <ExportPanel {...props} />
      {props.service.isReadOnly ? null : <ImportPanel {...props} />}
    </div>
  );
}
