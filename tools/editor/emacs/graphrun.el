;;; graphrun.el --- Graphs and jobs of graphrun  -*- lexical-binding: t; -*-

;; In the init file, with eglot (part of Emacs 29; before that a package, elpa-eglot on Debian):
;;   (load "PATH/tools/editor/emacs/graphrun.el")
;; M-x eglot-rename, xref-find-definitions (M-.), eldoc, completion-at-point (M-TAB) and eglot-format then work.

;;; Code:

(defgroup graphrun nil "Graphs and jobs of graphrun." :group 'languages)

(defcustom graphrun-command "graphrun"
  "The program graphrun, by name or path."
  :type 'string)

(defvar graphrun-font-lock-keywords
  '(("\\_<[a-z][a-z0-9_]*\\_>\\s-*[:{]" . font-lock-variable-name-face)
    ("\\_<[A-Z][A-Z0-9_]+\\_>" . font-lock-constant-face)
    ;; The parts of equations, inside their quotes.
    ("\\_<\\(if\\|else\\|and\\|or\\|not\\)\\_>" 1 font-lock-keyword-face prepend)
    ("\\_<\\([A-Za-z_][A-Za-z0-9_]*\\)(" 1 font-lock-function-name-face prepend)
    ("[A-Za-z0-9_./-]+\\.pbtxt" 0 font-lock-constant-face prepend))
  "What `graphrun-mode' highlights.")

(defvar graphrun-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "_" table)
    table))

;;;###autoload
(define-derived-mode graphrun-mode prog-mode "graphrun"
  "Major mode for graphs and jobs of graphrun."
  (setq-local comment-start "# ")
  (setq-local comment-end "")
  (setq-local font-lock-defaults '(graphrun-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.pbtxt\\'" . graphrun-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               (cons 'graphrun-mode (lambda (&rest _) (list graphrun-command "lsp")))))

(when (require 'eglot nil t)
  (add-hook 'graphrun-mode-hook #'eglot-ensure))

(provide 'graphrun)
;;; graphrun.el ends here
