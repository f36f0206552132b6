// Icons, drawn with the colour of the text.
import type { JSX } from 'preact';

const shapes = {
  bucket: 'M3 4.5h10l-1 8.5H4zM5.5 4.5a2.5 2.5 0 0 1 5 0',
  collection: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M6 6.5v6',
  group:
    'M6 7.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM2.5 13c0-2 1.5-3.5 3.5-3.5S9.5 11 9.5 13M10.5 7.5a1.7 1.7 0 1 0 0-3.4M11.5 9.7c1.3.5 2 1.7 2 3.3',
  record: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3 3',
  filter: 'M2.5 3.5h11l-4.3 5v4l-2.4-1.2V8.5z',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  close: 'M4 4l8 8M12 4l-8 8',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  plus: 'M8 3v10M3 8h10',
  person: 'M8 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3 13.5c0-2.5 2-4 5-4s5 1.5 5 4',
  home: 'M2.5 7.5L8 3l5.5 4.5M4 6.5v7h8v-7',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  code: 'M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5',
  chart: 'M2.5 2.5v11h11M5 10.5l2.5-3.5 2 2 3.5-5',
  clock: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5',
  arrow: 'M3 8h10M9 4l4 4-4 4',
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={shapes[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
