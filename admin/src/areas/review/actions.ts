// What can be done with a signed collection, and by whom (docs/guides/signing.md).

export interface ReviewAction {
  readonly name: 'request' | 'approve' | 'decline' | 'rollback' | 'resign' | 'start';
  readonly label: string;
  /** Value of the attribute `status`. */
  readonly to: string;
  /** Attribute that the comment is stored in. */
  readonly comment?: 'last_editor_comment' | 'last_reviewer_comment';
  readonly effect: string;
  readonly who: 'editors' | 'reviewers' | 'writers';
  /** Whether it discards work, and so needs a question. */
  readonly isDangerous?: boolean;
}

const request: ReviewAction = {
  name: 'request',
  label: 'Request review',
  to: 'to-review',
  comment: 'last_editor_comment',
  effect: 'copies the records to the preview, and asks reviewers',
  who: 'editors',
};
const approve: ReviewAction = {
  name: 'approve',
  label: 'Approve and sign',
  to: 'to-sign',
  comment: 'last_reviewer_comment',
  effect: 'publishes the records, signed',
  who: 'reviewers',
};
const decline: ReviewAction = {
  name: 'decline',
  label: 'Decline',
  to: 'work-in-progress',
  comment: 'last_reviewer_comment',
  effect: 'returns the records to the editors',
  who: 'writers',
};
const rollBack: ReviewAction = {
  name: 'rollback',
  label: 'Roll back',
  to: 'to-rollback',
  effect: 'resets the records to the signed ones',
  who: 'writers',
  isDangerous: true,
};
const resign: ReviewAction = {
  name: 'resign',
  label: 'Sign again',
  to: 'to-resign',
  effect: 'signs preview and destination again, unchanged',
  who: 'writers',
};
const start: ReviewAction = {
  name: 'start',
  label: 'Start work',
  to: 'work-in-progress',
  effect: 'gives the collection a status',
  who: 'writers',
};

/** Returns all actions of a collection, with or without reviews. */
export function actionsOf(isReviewed: boolean): readonly ReviewAction[] {
  return isReviewed
    ? [request, approve, decline, rollBack, resign]
    : [{ ...approve, label: 'Sign', who: 'writers' }, rollBack, resign];
}

export interface ReviewState {
  /** `undefined` for a collection that existed before the plugin. */
  readonly status: string | undefined;
  readonly isReviewed: boolean;
  /** `undefined` when it is unknown. */
  readonly isEditor: boolean | undefined;
  readonly isReviewer: boolean | undefined;
  readonly isRequester: boolean;
}

/** Returns the actions that the status allows. */
export function possibleActions({ status, isReviewed }: ReviewState): readonly ReviewAction[] {
  if (status === undefined) return [start];
  const names: readonly ReviewAction['name'][] =
    status === 'signed'
      ? ['resign']
      : !isReviewed
        ? ['approve', 'rollback', 'resign']
        : status === 'to-review'
          ? ['approve', 'decline', 'rollback']
          : ['request', 'rollback'];
  return actionsOf(isReviewed).filter(({ name }) => names.includes(name));
}

/** Returns why the user may not do it; `undefined` when the user may, as far as is known. */
export function refusalOf({ who, name }: ReviewAction, state: ReviewState): string | undefined {
  if (who === 'editors' && state.isEditor === false) return 'Only editors may do this.';
  if (who === 'reviewers' && state.isReviewer === false) return 'Only reviewers may do this.';
  if (name === 'approve' && state.isReviewed && state.isRequester) {
    return 'You requested this review. Another reviewer has to approve it.';
  }
  return undefined;
}
