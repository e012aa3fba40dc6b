/** A dialog over the view. The browser keeps the focus inside, closes it on Escape, and gives the focus back where it was. */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface ModalProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Modal({ title, onClose, children }: ModalProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current!;
    shown.showModal();
    // Closed before it is taken away: a dialog that just vanishes does not give the focus back.
    return () => shown.close();
  }, []);
  return (
    <dialog ref={dialog} class="modal" aria-labelledby={id} onClose={onClose}>
      <div class="modal-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
      {/* Last, so that the focus begins at what the dialog is about. */}
      <button type="button" class="bare modal-close" aria-label="Close" onClick={onClose}>
        ✕
      </button>
    </dialog>
  );
}
