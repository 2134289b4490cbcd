"""The named definitions of each language, as tree-sitter queries. `symbols` explains the captures.

An earlier pattern wins over a later one for the same name.
"""

from __future__ import annotations

_VERBS = (
    '"get" "post" "put" "patch" "delete" "head" "options" "all" "any" "route" "websocket" '
    '"GET" "POST" "PUT" "PATCH" "DELETE" "HEAD" "OPTIONS" "Any" "Get" "Post" "Put" "Patch" '
    '"Delete" "Handle" "HandleFunc"'
)
_IS_ROUTE = f'(#any-of? @verb {_VERBS}) (#match? @name "^/")'
_MAPPINGS = (
    '"GetMapping" "PostMapping" "PutMapping" "PatchMapping" "DeleteMapping" "RequestMapping" '
    '"Path" "Route" "HttpGet" "HttpPost" "HttpPut" "HttpPatch" "HttpDelete"'
)
_TITLED = '"describe" "it" "test" "suite" "context" "specify" "scenario" "feature" "bench"'

PYTHON = f"""
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(lambda) @scope
(assignment left: (identifier) @name) @variable
(assignment left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]) @variable
((assignment left: (attribute object: (identifier) @verb attribute: (identifier) @name)) @instance
  (#eq? @verb "self"))
((assignment left: (pattern_list (attribute object: (identifier) @verb
  attribute: (identifier) @name))) @instance (#eq? @verb "self"))
(type_alias_statement left: (type (_) @name)) @type
((assignment right: (dictionary (pair key: (string (string_content) @name)) @member))
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
((assignment right: (call arguments: (argument_list
  (dictionary (pair key: (string (string_content) @name)) @member))))
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
((decorator (call function: (attribute attribute: (identifier) @verb)
  arguments: (argument_list . (string (string_content) @name)))) @route {_IS_ROUTE})
"""

_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_KEY = "[(property_identifier) (private_property_identifier) (string)]"
_MEMBERS = f"(object (pair key: {_KEY} @name) @member)"
_HANDLER = (
    "[(arrow_function) (function_expression) (identifier) (member_expression) (call_expression) "
    "(array)]"
)

_REQUIRE = "(call_expression function: (identifier) @verb)"
_DEFINERS = '"defineProperty" "__defineGetter__" "defineGetter" "defineMethod"'

JAVASCRIPT = f"""
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: {_KEY} @name) @method
(function_expression name: (identifier) @name) @function
(class name: (_) @name) @class
{_FUNCTION} @scope
((variable_declarator
  name: [(identifier) @name (object_pattern (shorthand_property_identifier_pattern) @name)
    (object_pattern (pair_pattern value: (identifier) @name))]
  value: [{_REQUIRE} (member_expression object: {_REQUIRE})]) @import (#eq? @verb "require"))
(variable_declarator name: (identifier) @name value: {_FUNCTION}) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(variable_declarator name: (identifier) @name) @variable
(variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @name)) @variable
(variable_declarator name: (object_pattern (pair_pattern value: (identifier) @name))) @variable
(variable_declarator name: (array_pattern (identifier) @name)) @variable
((assignment_expression
  left: (member_expression property: (_) @name) right: {_FUNCTION}) @function
  (#not-match? @name "^(exports|prototype)$"))
(assignment_expression left: (member_expression object: (this) property: (_) @name)) @instance
((assignment_expression
  left: (member_expression property: (property_identifier) @name)) @variable
  (#not-match? @name "^(exports|prototype)$"))
((call_expression
  function: [(identifier) @verb (member_expression property: (_) @verb)]
  arguments: (arguments . (_) . (string (string_fragment) @name) . (_))) @method
  (#any-of? @verb {_DEFINERS}) (#not-match? @name "^__"))
(pair key: {_KEY} @name value: {_FUNCTION}) @method
(variable_declarator value: {_MEMBERS})
(variable_declarator value: (call_expression arguments: (arguments {_MEMBERS})))
(assignment_expression right: {_MEMBERS})
(export_statement value: {_MEMBERS})
(export_statement value: (call_expression arguments: (arguments {_MEMBERS})))
((call_expression function: (member_expression property: (_) @verb)
  arguments: (arguments . (string (string_fragment) @name) . {_HANDLER})) @route {_IS_ROUTE})
((call_expression
  function: [(identifier) @verb (member_expression object: (identifier) @verb)
    (call_expression function: (member_expression object: (identifier) @verb))]
  arguments: (arguments . [(string) (template_string)] @name . (_))) @test
  (#any-of? @verb {_TITLED}))
"""

_SCRIPT_FIELD = "(field_definition property: (_) @name) @field"
_TYPESCRIPT_ONLY = f"""
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name) @type
(enum_body name: {_KEY} @name @member)
(enum_assignment name: {_KEY} @name) @member
(public_field_definition name: {_KEY} @name value: {_FUNCTION}) @method
(public_field_definition name: {_KEY} @name) @field
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @instance
(method_signature name: {_KEY} @name) @prototype
(abstract_method_signature name: {_KEY} @name) @method
(property_signature name: {_KEY} @name) @field
(function_signature name: (_) @name) @function
(variable_declarator value: [(as_expression {_MEMBERS}) (satisfies_expression {_MEMBERS})])
"""
TYPESCRIPT = JAVASCRIPT + _TYPESCRIPT_ONLY
JAVASCRIPT += _SCRIPT_FIELD

GO = f"""
(function_declaration name: (_) @name) @function
(method_declaration name: (_) @name) @method
(func_literal) @scope
(type_spec name: (_) @name type: [(struct_type) (interface_type)]) @class
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(const_spec (identifier) @name) @constant
(var_spec name: (identifier) @name) @variable
(field_declaration name: (field_identifier) @name) @field
(method_elem name: (_) @name) @method
((call_expression function: (selector_expression field: (field_identifier) @verb) arguments:
  (argument_list . (interpreted_string_literal (interpreted_string_literal_content) @name) . (_)))
  @route {_IS_ROUTE})
((call_expression function: (selector_expression field: (field_identifier) @verb)
  arguments: (argument_list . (interpreted_string_literal) @name . (func_literal))) @test
  (#eq? @verb "Run"))
"""

RUST = f"""
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @prototype
(closure_expression) @scope
[(struct_item name: (_) @name) (enum_item name: (_) @name) (union_item name: (_) @name)
 (trait_item name: (_) @name)] @class
(impl_item type: (_)) @class
(type_item name: (_) @name) @type
(associated_type name: (_) @name) @type
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @constant
(field_declaration name: (_) @name) @field
(enum_variant name: (_) @name) @member
(macro_definition name: (_) @name) @macro
((attribute_item (attribute (identifier) @verb
  arguments: (token_tree . (string_literal (string_content) @name)))) @route {_IS_ROUTE})
((call_expression function: (field_expression field: (_) @verb)
  arguments: (arguments . (string_literal (string_content) @name) . (_))) @route {_IS_ROUTE})
"""

JAVA = f"""
(method_declaration name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
(lambda_expression) @scope
[(class_declaration name: (_) @name) (interface_declaration name: (_) @name)
 (enum_declaration name: (_) @name) (record_declaration name: (_) @name)
 (annotation_type_declaration name: (_) @name)] @class
(object_creation_expression (class_body)) @class
(field_declaration (modifiers "static" "final")
  declarator: (variable_declarator name: (_) @name)) @constant
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
(constant_declaration declarator: (variable_declarator name: (_) @name)) @constant
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @field))
(enum_constant name: (_) @name) @member
(annotation_type_element_declaration name: (_) @name) @method
((annotation name: (identifier) @verb arguments: (annotation_argument_list
  [(string_literal (string_fragment) @name)
   (element_value_pair value: (string_literal (string_fragment) @name))
   (element_value_array_initializer (string_literal (string_fragment) @name))
   (element_value_pair value:
     (element_value_array_initializer (string_literal (string_fragment) @name)))])) @route
  (#any-of? @verb {_MAPPINGS}))
"""

C = """
(function_definition) @scope
[(struct_specifier name: (_) @name body: (_)) (union_specifier name: (_) @name body: (_))
 (enum_specifier name: (_) @name body: (_))] @class
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name) @macro
(enumerator name: (_) @name) @member
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name))
  @prototype
(field_declaration (_ (function_declarator declarator: (field_identifier) @name))) @prototype
(field_declaration declarator: (function_declarator declarator:
  (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))) @field
(field_declaration declarator: (field_identifier) @name) @field
(field_declaration (_ declarator: (field_identifier) @name)) @field
(field_declaration (_ (_ declarator: (field_identifier) @name))) @field
(field_declaration (_ (_ (_ declarator: (field_identifier) @name)))) @field
(type_definition declarator: (type_identifier) @name) @type
(type_definition (_ declarator: (type_identifier) @name)) @type
(type_definition (_ (_ (_ declarator: (type_identifier) @name)))) @type
(declaration declarator: (function_declarator declarator: (identifier) @name)) @prototype
(declaration (_ (function_declarator declarator: (identifier) @name))) @prototype
(declaration declarator: (function_declarator declarator:
  (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))) @variable
(declaration declarator: (identifier) @name) @variable
(declaration (_ declarator: (identifier) @name)) @variable
(declaration (_ (_ declarator: (identifier) @name))) @variable
"""

CPP = (
    C
    + """
(lambda_expression) @scope
(class_specifier name: (_) @name body: (_)) @class
(declaration declarator:
  (function_declarator declarator: [(destructor_name) (operator_name)] @name)) @prototype
(field_declaration (_ declarator: (operator_name) @name)) @prototype
(declaration (_ declarator: (qualified_identifier name: (identifier) @name))) @variable
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
"""
)

C_SHARP = f"""
(method_declaration name: (_) @name) @function
(local_function_statement name: (_) @name) @function
(constructor_declaration name: (_) @name) @function
[(lambda_expression) (anonymous_method_expression) (accessor_declaration)] @scope
[(class_declaration name: (_) @name) (interface_declaration name: (_) @name)
 (struct_declaration name: (_) @name) (record_declaration name: (_) @name)
 (enum_declaration name: (_) @name)] @class
((field_declaration (modifier) @verb
  (variable_declaration (variable_declarator name: (_) @name))) @constant (#eq? @verb "const"))
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(event_declaration name: (_) @name) @field
(property_declaration name: (_) @name) @field
(record_declaration (parameter_list (parameter name: (_) @name) @field))
(delegate_declaration name: (_) @name) @type
(enum_member_declaration name: (_) @name) @member
((attribute name: (_) @verb (attribute_argument_list . (attribute_argument
  (string_literal (string_literal_content) @name)))) @route (#any-of? @verb {_MAPPINGS}))
"""

RUBY = f"""
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
[(class name: (_) @name) (module name: (_) @name)] @class
(assignment left: (constant) @name) @constant
(assignment left: (left_assignment_list (constant) @name)) @constant
(assignment left: (left_assignment_list (instance_variable) @name)) @instance
((call receiver: (constant) @verb arguments: (argument_list (simple_symbol) @name)) @field
  (#any-of? @verb "Struct" "Data"))
(assignment left: [(class_variable) (global_variable)] @name) @variable
(assignment left: (instance_variable) @name) @instance
(operator_assignment left: (instance_variable) @name) @instance
((call method: (identifier) @verb arguments: (argument_list (simple_symbol) @name)) @field
  (#any-of? @verb "attr_reader" "attr_writer" "attr_accessor"))
((call method: (identifier) @verb arguments: (argument_list . (simple_symbol) @name)) @method
  (#any-of? @verb "define_method" "alias_method" "scope"))
((call method: (identifier) @verb arguments: (argument_list (simple_symbol) @name)) @method
  (#eq? @verb "delegate"))
(alias name: (_) @name) @method
((call method: (identifier) @verb arguments: (argument_list . (string (string_content) @name)))
  @route {_IS_ROUTE})
((call method: (identifier) @verb arguments: (argument_list . (_) @name) block: (_)) @test
  (#any-of? @verb {_TITLED}))
"""

PHP = f"""
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @function
[(anonymous_function) (arrow_function)] @scope
[(class_declaration name: (_) @name) (interface_declaration name: (_) @name)
 (trait_declaration name: (_) @name) (enum_declaration name: (_) @name)] @class
(const_element (name) @name) @constant
((function_call_expression function: (name) @verb
  arguments: (arguments . (argument (string (string_content) @name)))) @constant
  (#eq? @verb "define"))
(property_element name: (variable_name (name) @name)) @field
(property_promotion_parameter name: (variable_name (name) @name)) @instance
(enum_case name: (_) @name) @member
(assignment_expression left: (variable_name (name) @name) right: [(anonymous_function)
  (arrow_function)]) @function
(assignment_expression left: (variable_name (name) @name)) @variable
((scoped_call_expression name: (name) @verb
  arguments: (arguments . (argument (string (string_content) @name)) . (_))) @route {_IS_ROUTE})
((attribute (name) @verb parameters: (arguments . (argument (string (string_content) @name))))
  @route (#any-of? @verb {_MAPPINGS}))
"""

KOTLIN = f"""
(function_declaration name: (_) @name) @function
[(lambda_literal) (anonymous_function) (getter) (setter) (anonymous_initializer)
 (secondary_constructor)] @scope
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(property_declaration (variable_declaration . (identifier) @name)) @variable
(property_declaration (multi_variable_declaration (variable_declaration . (identifier) @name)))
  @variable
(class_parameter ["val" "var"] . (identifier) @name) @field
(enum_entry (identifier) @name) @member
(type_alias type: (identifier) @name) @type
((annotation (constructor_invocation (user_type (identifier) @verb) (value_arguments
  (value_argument (string_literal (string_content) @name))))) @route (#any-of? @verb {_MAPPINGS}))
"""

SWIFT = """
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @prototype
[(init_declaration) (deinit_declaration) (subscript_declaration) (lambda_literal)
 (computed_property)] @scope
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @class
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable
(property_declaration name: (pattern (pattern (simple_identifier) @name))) @variable
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field
(enum_entry name: (simple_identifier) @name) @member
(typealias_declaration . (_)* name: (type_identifier) @name) @type
(associatedtype_declaration name: (type_identifier) @name) @type
"""

SCALA = """
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @prototype
(lambda_expression) @scope
[(class_definition name: (_) @name) (object_definition name: (_) @name)
 (trait_definition name: (_) @name) (enum_definition name: (_) @name)] @class
[(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)
 (val_definition pattern: [(identifiers (identifier) @name) (tuple_pattern (identifier) @name)])
 (val_declaration name: (_) @name) (var_declaration name: (_) @name)
 (given_definition name: (_) @name)] @variable
(class_parameter ["val" "var"] name: (_) @name) @field
(class_definition "case"
  class_parameters: (class_parameters (class_parameter name: (_) @name) @field))
[(simple_enum_case name: (_) @name) (full_enum_case name: (_) @name)] @member
(type_definition name: (_) @name) @type
"""

BASH = """
(function_definition name: (_) @name) @function
(variable_assignment name: (variable_name) @name) @variable
(declaration_command ["declare" "typeset"] (variable_name) @name) @variable
"""
