;;; encamp.el --- Job files in Emacs 29 and later  -*- lexical-binding: t -*-

;; Put this file into a directory of `load-path', and (require 'encamp) into the init file.

(require 'eglot)

(defvar encamp-command '("encamp" "lsp")
  "How the language server is started.
Names and plans of a cluster: (\"encamp\" \"lsp\" \"-snapshot\" \"cluster.json\").")

(defvar encamp-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "< b" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?_ "w" table)
    table))

(define-derived-mode encamp-mode prog-mode "Job"
  "Major mode for job files."
  (setq-local comment-start "# ")
  (setq-local indent-tabs-mode nil)
  (setq-local font-lock-defaults
              '((("^\\s-*\\([a-z_]+\\)\\(?:\\s-+\"[^\"]*\"\\)*\\s-*{" 1 font-lock-keyword-face)
                 ("^\\s-*\\([A-Za-z0-9_-]+\\)\\s-*=" 1 font-lock-variable-name-face)))))

(add-to-list 'auto-mode-alist '("\\.nomad\\(?:\\.hcl\\|vars\\)?\\'" . encamp-mode))
(add-to-list 'eglot-server-programs `(encamp-mode . ,encamp-command))
(add-hook 'encamp-mode-hook #'eglot-ensure)

(provide 'encamp)
;;; encamp.el ends here
