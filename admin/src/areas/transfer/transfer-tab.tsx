// Import and export of the records of a collection.
import type { JSX } from 'preact';
import { NoPermission } from '../../ui/parts.tsx';
import type { TabProps } from '../area.ts';
import { ExportPanel } from './export-panel.tsx';
import { ImportPanel } from './import-panel.tsx';

export function TransferTab(props: TabProps): JSX.Element {
  return (
    <div class="transfer">
      <ExportPanel {...props} />
      {props.service.isReadOnly ? null : props.permits.mayCreate('record') ? (
        <ImportPanel {...props} />
      ) : (
        <NoPermission to="import records into this collection" />
      )}
    </div>
  );
}
